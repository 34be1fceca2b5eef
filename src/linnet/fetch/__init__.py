"""From the web to this machine: the only room that opens a connection, and never unless a command is told to.

That is ``--download``, and ``linnet serve --oidc``, which asks a provider of sign-ins who somebody is.
"""
