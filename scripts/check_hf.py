"""Checks that Hugging Face transformers reads a checkpoint folder as this project does.

    python3 -m venv .venv-hf
    .venv-hf/bin/pip install -r scripts/requirements.txt
    .venv-hf/bin/python scripts/check_hf.py checkpoints/tang-4l [MORE FOLDERS]

For each folder: token ids of 50 poems, their logits at every position within 1e-3, and 20 greedy
continuations token by token, ours by the program `tang` (target/release/tang, or $TANG). The poems
are validation poems of data/val.txt, or of data/sample.txt where the corpus is not built.
"""

import json
import os
import pathlib
import subprocess
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

ROOT = pathlib.Path(__file__).resolve().parent.parent
TANG = os.environ.get("TANG", ROOT / "target/release/tang")
TOLERANCE = 1e-3
POEMS, CONTINUATIONS = 50, 20


def tang(*words):
    run = subprocess.run([TANG, *words], capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"tang {' '.join(words)}: {run.stderr}")
    return json.loads(run.stdout)


def poems():
    for name in ("val.txt", "sample.txt"):
        path = ROOT / "data" / name
        if path.exists():
            lines = path.read_text(encoding="utf-8").splitlines()
            # Spread over the file, so that every form is there.
            return lines[:: max(1, len(lines) // POEMS)][:POEMS]
    sys.exit("no poems in data/: run `tang data`")


def compare_logits(folder, model, tokenizer, poem):
    ours = tang("logits", poem, "--json", "--checkpoint", folder)
    ids = tokenizer("\n" + poem)["input_ids"]
    if ids != ours["tokens"]:
        sys.exit(f"{folder}: {poem} has the ids {ids} there and {ours['tokens']} here")
    if tokenizer.decode(ids) != "\n" + poem:
        sys.exit(f"{folder}: {poem} decodes to {tokenizer.decode(ids)!r}")
    with torch.inference_mode():
        theirs = model(torch.tensor([ids])).logits[0]
    return (theirs - torch.tensor(ours["logits"])).abs().max().item()


def compare_greedy(folder, model, tokenizer, poem):
    prefix = poem[:5]
    ours = tang("continue", prefix, "--temperature", "0", "--repetition-penalty", "1", "--json", "--checkpoint", folder)
    ids = tokenizer("\n" + prefix, return_tensors="pt")["input_ids"]
    length = model.config.max_position_embeddings
    with torch.inference_mode():
        theirs = model.generate(ids, do_sample=False, max_length=length, pad_token_id=0)
    text = tokenizer.decode(theirs[0]).strip("\n")
    # Ours may go one character further: the last one needs no position of its own.
    if text != ours["text"] and not (len(theirs[0]) == length and ours["text"][:-1] == text):
        sys.exit(f"{folder}: {prefix} goes on as {text} there and {ours['text']} here")
    return len(theirs[0]) - len(ids[0])


def check(folder):
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    chosen = poems()
    differences = [compare_logits(folder, model, tokenizer, poem) for poem in chosen]
    if not max(differences) < TOLERANCE:
        sys.exit(f"{folder}: logits differ by {max(differences):.2e}, allowed {TOLERANCE:.0e}")
    greedy = [compare_greedy(folder, model, tokenizer, poem) for poem in chosen[:CONTINUATIONS]]
    print(
        f"{folder}: {type(model).__name__}, {sum(p.numel() for p in model.parameters()):,} parameters; "
        f"{len(chosen)} poems: same ids, logits within {max(differences):.1e}; "
        f"{len(greedy)} greedy continuations ({sum(greedy)} tokens): the same"
    )


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for folder in sys.argv[1:]:
        check(folder)
