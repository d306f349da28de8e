"""What the measurements were made on."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path

import torch


def devices() -> list[str]:
    """The kinds of device that there are to measure on."""
    return ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


def describe() -> dict[str, str]:
    """Name the processor and the versions that decide how fast the code runs."""
    found = {
        "processor": _processor(),
        "cores": f"{os.cpu_count()}, {torch.get_num_threads()} used by PyTorch",
        "kernels": torch.backends.cpu.get_cpu_capability(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "torch": torch.__version__,
    }
    if torch.cuda.is_available():
        found["GPU"] = torch.cuda.get_device_name()
    if hasattr(os, "getloadavg"):
        found["busy before the run"] = f"{os.getloadavg()[0]:.1f} processes on average"
    return found


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        named = re.search(r"^model name\s*:\s*(.+)$", cpuinfo.read_text(), re.MULTILINE)
        if named:
            return named[1]
    return platform.processor() or platform.machine()
