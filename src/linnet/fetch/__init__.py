"""From the web to this machine: the only room that opens a connection, and never unless a command says --download."""
