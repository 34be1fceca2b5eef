"""The HTTP interface of the workbench, one module a resource. Needs the extra ``serve``."""
