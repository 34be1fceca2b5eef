"""What cannot be collected where an extra is missing that must not be installed beside the others."""

from __future__ import annotations

import importlib.util

FLAIR = ["src/linnet/detect/flair_model.py", "src/linnet/detect/flair_training.py"]

collect_ignore = [] if importlib.util.find_spec("flair") else FLAIR
