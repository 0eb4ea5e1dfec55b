"""Texts turned into embeddings by the model 'minilm', asked by OpenAI's client, and how alike they are."""

import sys
import time
from pathlib import Path

import numpy as np
from openai import OpenAI, OpenAIError

from demo_options import showing
from texts import RECORDED, SHOWN, texts

MODEL = "minilm"
TIMED = 50
NEAR = 1e-4


def main() -> int:
    parser = showing("embed", __doc__)
    parser.add_argument("text", nargs="*", help="texts of your own")
    options = parser.parse_args()

    asked = options.text or texts(options.example)
    client = OpenAI(base_url=f"http://127.0.0.1:{options.http_port}/v1", api_key="unused", max_retries=0)
    try:
        embeddings, tokens = ask(client, asked)
        seconds = [timed(client, asked[0]) for _ in range(TIMED)]
    except OpenAIError as error:
        print(f"the server does not answer: {error}", file=sys.stderr)
        return 1
    shown = len(options.text) or SHOWN
    show(asked[:shown], embeddings[:shown])
    print(f"latency   p50 {np.median(seconds) * 1e3:.1f} ms, worst {max(seconds) * 1e3:.1f} ms, one text a call")
    print(f"tokens    {tokens} in {len(asked)} texts")
    return 0 if options.text or compare(embeddings, options.example / RECORDED) else 1


def ask(client: OpenAI, asked: list[str]) -> tuple[np.ndarray, int]:
    """All there is to a call."""
    answer = client.embeddings.create(model=MODEL, input=asked)
    return np.array([row.embedding for row in answer.data], np.float32), answer.usage.total_tokens


def timed(client: OpenAI, text: str) -> float:
    began = time.perf_counter()
    ask(client, [text])
    return time.perf_counter() - began


def show(asked: list[str], embeddings: np.ndarray) -> None:
    """Embeddings have norm 1, so their products are cosines."""
    print("how alike they are, from -1 to 1:\n")
    wide = max(map(len, asked))
    print(" " * (wide + 5) + "".join(f"{column:6}" for column in range(1, len(asked) + 1)))
    for number, (text, row) in enumerate(zip(asked, embeddings @ embeddings.T, strict=True), start=1):
        print(f"{number:3}  {text:{wide}}" + "".join(f"{value:6.2f}" for value in row))
    print()


def compare(embeddings: np.ndarray, recorded: Path) -> bool:
    """Prints how far they are from what sentence-transformers made of the same texts; says whether that is near."""
    off = float(np.abs(embeddings - np.load(recorded)["embeddings"]).max())
    print(f"beside    sentence-transformers, on the same weights: {len(embeddings)} texts differ by {off:.1g} at most")
    if off > NEAR:
        print(f"          which is more than {NEAR:g}")
    return off <= NEAR


if __name__ == "__main__":
    sys.exit(main())
