"""Writes the tokenizers of this folder and cases.json, what tokenizers makes of texts with each of them.

Run it in this folder with tokenizers 0.23.3 and sentencepiece 0.2.1 (for the compiled rules of one of them).
The vocabularies are trained on text that is made up here, and small. Training does not give the same twice, so all
files are written together.
"""

import io
import json
import random
from pathlib import Path

import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

ROOT = Path(__file__).parent
SYLLABLES = "ba ce di fo gu la me ni or pu ra se ti vo ver ing ed er un re tion al ly".split()
FIXED = [
    "The quick brown fox jumps over the lazy dog.",
    "Servers batch requests; they don't run them one by one, and I'll say we've measured it.",
    "Cafés in Zürich serve crème brûlée and jalapeño for 12.50 at 9:30 on 2026-11-27!",
    "Größe, naïve façade, Ærøskøbing, Łódź, İstanbul, ΣΟΦΟΣ.",
    "東京は日本の首都です。 北京 上海 你好世界",
    "Привет, мир! Как дела?",
    "x = f(a[i] + b->c) * 3 // comment",
]


def made_up(seed: int, sentences: int) -> list[str]:
    dice = random.Random(seed)
    words = ["".join(dice.choices(SYLLABLES, k=dice.randint(1, 4))) for _ in range(300)]
    return [" ".join(dice.choices(words, k=dice.randint(3, 12))).capitalize() + "." for _ in range(sentences)]


CORPUS = made_up(1, 400) + FIXED * 8

TEXTS = [
    *FIXED,
    "",
    " ",
    "   leading and trailing   ",
    "a",
    "\t tabs\tand\nnew\r\nlines \u2028 and \u00a0 wide \u3000 spaces",
    "control\u0000\u0001\u0007\u200b\u200d\ufeff\ufffd characters",
    "e\u0301 \u00e9 composed and decomposed \u1e9b\u0323 \u1e69 s\u0323\u0307",
    "\ufb01 \u2460 \u00bd \uff21\uff22\uff23 \u3392 \u00b2",
    "emoji 😀 👩‍👩‍👧‍👦 🇨🇭 👍🏽 ✂️ in text",
    "\U0001d518\U0001d52b\U0001d526\U0001d520\U0001d52c\U0001d521\U0001d522 \U00020000\U0002a6d6",
    "한국어 텍스트 हिन्दी में पाठ ไทย العربية עברית",
    "zalgo h\u0336\u0321e\u0337l\u0334l\u0335o\u0328\u0323\u0330",
    "Don't can't it's we're I'M O'Neil 'twas rock'n'roll",
    "under_score hy-phen 100% $5.00 #tag @you a/b\\c \u2014 \u2026 \u00bfqu\u00e9?",
    "supercalifragilisticexpialidocious" * 4,
    "x" * 99,
    "x" * 100,
    "x" * 101,
    "é" * 101,
    "😀" * 60,
    "12345678901234567890 3.14159 1e-9 Ⅷ ٣",
    "[CLS] written by a caller [SEP] and [MASK] or [mask]",
    "<s>a</s> <mask>b  <mask>  c<mask>",
    "word<word> tokenword token wordtoken token.",
    "\u0130I\u0131i \u03a3\u03c3\u03c2 \u1e9e\u00df",
    "\u2581already\u2581marked \u2581 x",
    "\uff5e\u301c\uff0d\u3001\u3002\u300c\u300d",
    "\u166d \u2e52 \u061d punctuation of other versions",
]
PIECES = ["a", "The ", "ver", "ing", " ", "  ", "é", "e\u0301", "\u0301", "日", "本", "😀", "\u200d", "\ufe0f", "'s", "'", ".",
          ",", "1", "23", "\n", "\t", "ß", "İ", "ﬁ", "½", "\u00a0", "\u0000", "\u200b", "к", "ा", "한", "\U0001f1e8", "tion",
          "[MASK]", "<mask>", "token", "\u2581", "~", "_", "-", "㎒", "ǆ", "ⅷ", "\U00020000", "x", "q"]  # fmt: skip


def random_texts(seed: int, count: int) -> list[str]:
    dice = random.Random(seed)
    return ["".join(dice.choices(PIECES, k=dice.randint(1, 16))) for _ in range(count)]


def template(tokenizer: Tokenizer, cls: str, sep: str) -> processors.PostProcessor:
    return processors.TemplateProcessing(
        single=f"{cls} $A {sep}",
        pair=f"{cls} $A {sep} $B:1 {sep}:1",
        special_tokens=[(cls, tokenizer.token_to_id(cls)), (sep, tokenizer.token_to_id(sep))],
    )


def word_piece() -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer.train_from_iterator(CORPUS, trainers.WordPieceTrainer(vocab_size=400, special_tokens=special, show_progress=False))
    tokenizer.post_processor = template(tokenizer, "[CLS]", "[SEP]")
    vocabulary = sorted(tokenizer.get_vocab().items(), key=lambda entry: entry[1])
    (ROOT / "vocab.txt").write_text("".join(f"{token}\n" for token, _ in vocabulary), encoding="utf-8")
    return tokenizer


def word_piece_cased() -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=20))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False, handle_chinese_chars=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer.train_from_iterator(CORPUS, trainers.WordPieceTrainer(vocab_size=400, special_tokens=special, show_progress=False))
    ids = {token: tokenizer.token_to_id(token) for token in special}
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", ids["[SEP]"]), ("[CLS]", ids["[CLS]"]))
    tokenizer.add_tokens([AddedToken("token", single_word=True), AddedToken("Größe", normalized=True)])
    tokenizer.enable_truncation(24, strategy="only_second", direction="left")
    tokenizer.enable_padding(direction="left", pad_id=ids["[PAD]"], pad_token="[PAD]", pad_type_id=1, pad_to_multiple_of=8)
    return tokenizer


def byte_level() -> Tokenizer:
    """As RoBERTa has it."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    special = ["<s>", "<pad>", "</s>", "<unk>", AddedToken("<mask>", lstrip=True, special=True)]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=600, special_tokens=special, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(CORPUS, trainer)
    ids = {token: tokenizer.token_to_id(token) for token in ("<s>", "</s>")}
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", ids["</s>"]), ("<s>", ids["<s>"]))
    return tokenizer


def byte_level_split() -> Tokenizer:
    """As Llama 3 and Qwen have it: words by a pattern of their own."""
    pattern = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    tokenizer = Tokenizer(models.BPE(ignore_merges=True))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(pattern), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=600, special_tokens=["<s>"], initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(CORPUS, trainer)
    begin = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", tokenizer.token_to_id("<s>"))])
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), begin])
    return tokenizer


def byte_fallback() -> Tokenizer:
    """As Llama 2 and Gemma have it: no words, and bytes for what is unknown."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    tokenizer.pre_tokenizer = pre_tokenizers.Split("\u2581", "merged_with_next")
    special = ["<unk>", "<s>", "</s>", *(f"<0x{value:02X}>" for value in range(256))]
    ascii_only = [text for text in CORPUS if text.isascii()]
    tokenizer.train_from_iterator(ascii_only, trainers.BpeTrainer(vocab_size=600, special_tokens=special, show_progress=False))
    plain = json.loads(tokenizer.to_str())
    plain["added_tokens"] = plain["added_tokens"][:3]
    plain["pre_tokenizer"] = None
    return Tokenizer.from_str(json.dumps(plain))


def word_suffix() -> Tokenizer:
    """As CLIP has it, with unknown characters one by one, and white space and digits apart."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFD(), normalizers.StripAccents(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Whitespace(), pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.Punctuation()]
    )
    ascii_only = [text for text in CORPUS if text.isascii()]
    trainer = trainers.BpeTrainer(vocab_size=400, special_tokens=["<unk>", "<pad>"], end_of_word_suffix="</w>", show_progress=False)
    tokenizer.train_from_iterator(ascii_only, trainer)
    return tokenizer


def compiled_rules() -> bytes:
    """Rules of replacement as SentencePiece compiles them: a few, where nmt_nfkc has 240 KB."""
    rules = {"ﬁ": "fi", "½": "1⁄2", "Ａ": "A", "Ｂ": "B", "㎒": "MHz", "\u200b": " ", "\t": " ", "\n": " ", "\u00a0": " ",
             "\u3000": " ", "e\u0301": "é", "한": "HAN", "\u0001": "", "²": "2", "ि": "i"}  # fmt: skip
    table = ROOT / "rules.tsv"
    table.write_text(
        "".join(
            f"{' '.join(f'{ord(c):X}' for c in source)}\t{' '.join(f'{ord(c):X}' for c in target)}\n" for source, target in rules.items()
        )
    )
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(CORPUS), model_writer=written, vocab_size=200, normalization_rule_tsv=str(table), minloglevel=2
    )
    table.unlink()
    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(written.getvalue())
    return model.normalizer_spec.precompiled_charsmap


def unigram() -> Tokenizer:
    """As XLM-RoBERTa has it."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Precompiled(compiled_rules()), normalizers.Strip(left=False), normalizers.Replace(Regex(" {2,}"), "\u2581")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    special = ["<s>", "<pad>", "</s>", "<unk>", AddedToken("<mask>", lstrip=True, special=True, normalized=False)]
    trainer = trainers.UnigramTrainer(vocab_size=400, special_tokens=special, unk_token="<unk>", show_progress=False)
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.post_processor = template(tokenizer, "<s>", "</s>")
    return tokenizer


def unigram_first() -> Tokenizer:
    """A space at the beginning only, and bytes for what is unknown."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), normalizers.Strip()])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    special = ["<unk>", "<mask>", *(f"<0x{value:02X}>" for value in range(256))]
    ascii_only = [text for text in CORPUS if text.isascii()]
    trainer = trainers.UnigramTrainer(vocab_size=600, special_tokens=special, unk_token="<unk>", show_progress=False)
    tokenizer.train_from_iterator(ascii_only, trainer)
    plain = json.loads(tokenizer.to_str())
    plain["added_tokens"] = plain["added_tokens"][:2]
    plain["model"]["byte_fallback"] = True
    return Tokenizer.from_str(json.dumps(plain))


def unigram_split() -> Tokenizer:
    """Words by white space first, then by Metaspace, which sees that only the first stands at the beginning."""
    tokenizer = unigram_first()
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"\p{Lu}"), "merged_with_previous"),
            pre_tokenizers.Split(Regex(r"[.,]"), "contiguous"),
            pre_tokenizers.Digits(),
            pre_tokenizers.WhitespaceSplit(),
            pre_tokenizers.Split(Regex(r"[a-z]{1,4}|[^a-z]+"), "removed", invert=True),
            pre_tokenizers.Metaspace(prepend_scheme="first"),
        ]
    )
    return tokenizer


def case(tokenizer: Tokenizer, text: str, pair: str | None = None, **truncation) -> dict:
    found = tokenizer.encode(text, pair)
    padding = found.attention_mask.count(0)
    assert padding == 0 or found.attention_mask[padding] == 1, "padding stands on the left"
    made = {"text": text, "ids": found.ids[padding:], **truncation}
    if any(found.type_ids[padding:]):
        made["typeIds"] = found.type_ids[padding:]
    return made if pair is None else {**made, "pair": pair}


def truncated_cases(tokenizer: Tokenizer) -> list[dict]:
    cases = []
    pairs = [(FIXED[0], FIXED[1]), (FIXED[1], FIXED[0]), (FIXED[0], "a"), ("a", FIXED[1]), ("", FIXED[0]), (FIXED[0], "")]
    for longest in (5, 13, 24):
        for strategy in ("longest_first", "only_first", "only_second"):
            tokenizer.enable_truncation(longest, strategy=strategy)
            asked: list[tuple[str, str | None]] = [*pairs, (FIXED[1], None), ("a", None)]
            for text, pair in asked:
                truncation = {"maxLength": longest, "strategy": strategy.upper()}
                try:
                    cases.append(case(tokenizer, text, pair, **truncation))
                except Exception:  # noqa: BLE001, the reference raises no other
                    cases.append({"text": text, "pair": pair, **truncation})
    tokenizer.no_truncation()
    return cases


def compact(made: dict) -> str:
    return json.dumps(made, separators=(",", ":"))


def main() -> None:
    makers = [word_piece, word_piece_cased, byte_level, byte_level_split, byte_fallback, word_suffix, unigram, unigram_first,
              unigram_split]  # fmt: skip
    cases = {}
    for number, make in enumerate(makers):
        name = make.__name__.replace("_", "-")
        tokenizer = make()
        (ROOT / f"{name}.json").write_text(tokenizer.to_str(), encoding="utf-8")
        texts = TEXTS + random_texts(number, 100)
        made = [] if name == "word-piece-cased" else [case(tokenizer, text) for text in texts]
        made += [case(tokenizer, texts[i], texts[-1 - i]) for i in range(20) if tokenizer.truncation is None]
        if tokenizer.truncation is not None:  # only_second: refused unless the second gives way
            for text in texts:
                made.append(case(tokenizer, text[:10], text))
        else:
            made += truncated_cases(tokenizer)
        cases[name] = made
    groups = [json.dumps(name) + ": [\n" + ",\n".join(map(compact, made)) + "]" for name, made in cases.items()]
    (ROOT / "cases.json").write_text("{" + ",\n".join(groups) + "}\n")


if __name__ == "__main__":
    main()
