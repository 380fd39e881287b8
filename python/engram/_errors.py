"""How an exception of a hook is told in one sentence."""

import os
import traceback


def describe(e: BaseException) -> str:
    """'ValueError: bad (mine.py:12)': type, text, and the last line that is not engram's own."""
    here = os.path.dirname(__file__)
    frames = [f for f in traceback.extract_tb(e.__traceback__)
              if not f.filename.startswith(here)]
    place = f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno})" if frames else ""
    text = " ".join(str(e).split())
    name = type(e).__name__
    return f"{name}: {text}{place}" if text else f"{name}{place}"
