"""What owns a handle of the library or an open file, which a second owner would close too."""

from __future__ import annotations

from typing import Any, NoReturn


class Owner:
    """An object that is neither copied nor pickled; `remedy` says what would help."""

    remedy = ""

    def __reduce__(self) -> NoReturn:
        # copy and pickle both come here; what they raise is a TypeError by Python's custom.
        name = f"{type(self).__module__.split('._')[0]}.{type(self).__name__}"
        raise TypeError(f"{name} can be neither copied nor pickled" +
                        (f"; {self.remedy}" if self.remedy else ""))


class Shared(Owner):
    """An object that does not change: a copy of it is the object itself."""

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self
