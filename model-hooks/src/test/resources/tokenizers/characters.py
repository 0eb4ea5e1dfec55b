"""Prints bert-characters.txt: which characters BertNormalizer, StripAccents and BertPreTokenizer take for what.

Run it with tokenizers 0.23.3 and write what it prints to src/main/resources/dev/roundhouse/hooks/text.
"""

from tokenizers.normalizers import BertNormalizer, StripAccents
from tokenizers.pre_tokenizers import BertPreTokenizer

CLEAN = BertNormalizer(clean_text=True, handle_chinese_chars=False, strip_accents=False, lowercase=False)
ACCENTS = BertNormalizer(clean_text=False, handle_chinese_chars=False, strip_accents=True, lowercase=False)
MARKS = StripAccents()
WORDS = BertPreTokenizer()


def is_punctuation(character: str) -> bool:
    return len(WORDS.pre_tokenize_str(f"a{character}b")) == 3


def is_control(character: str) -> bool:
    return CLEAN.normalize_str(f"a{character}b") == "ab"


def is_nonspacing_mark(character: str) -> bool:
    return ACCENTS.normalize_str(character) == ""


def is_mark(character: str) -> bool:
    return MARKS.normalize_str(character) == ""


def ranges(is_member) -> str:
    found: list[list[int]] = []
    for point in range(0x110000):
        if 0xD800 <= point < 0xE000 or not is_member(chr(point)):
            continue
        if found and found[-1][1] + 1 == point:
            found[-1][1] = point
        else:
            found.append([point, point])
    return ",".join(f"{a:x}" if a == b else f"{a:x}-{b:x}" for a, b in found)


for name, is_member in (
    ("punctuation", is_punctuation),
    ("control", is_control),
    ("nonspacing-mark", is_nonspacing_mark),
    ("mark", is_mark),
):
    print(f"{name}: {ranges(is_member)}")
