"""Characters of scripts, in one place, so that all rules mean the same ones (Unicode blocks, as of version 16)."""

from __future__ import annotations

import re

#: Ranges for a character class: Han ideographs with their extensions and compatibility forms.
HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
#: Ranges for a character class: Japanese syllables, Korean ones and their letters.
KANA_AND_HANGUL = "\u3040-\u30ff\uac00-\ud7af\u1100-\u11ff"
#: One Han ideograph.
HAN_CHARACTER = re.compile(f"[{HAN}]")
