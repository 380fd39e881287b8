"""What the module in C gives; the package's own files know the arguments."""

from typing import Any

version: str
commit: str

class Error(RuntimeError):
    code: str

def __getattr__(name: str) -> Any: ...
