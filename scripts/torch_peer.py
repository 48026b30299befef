"""Trains a GPT-2 of tang-4l's geometry in plain PyTorch, for `tang bench-train` to race with.

    python3 -m venv .venv-hf
    .venv-hf/bin/pip install -r scripts/requirements.txt
    .venv-hf/bin/python scripts/torch_peer.py data/train.txt data/val.txt --steps 1850 --every 50

It is what one would write without this project: crops of the poems' text at random places, the
whole logits, cross_entropy, AdamW. A JSON object a report goes to stdout: step, train_seconds
(evaluation apart), tokens_per_second, and val_nats_per_char, the mean over the characters of all
validation poems, each read alone from a newline to a newline. Reports come every --every steps, and
with validation only from --every on, so that a run shorter than it is timed alone.
"""

import argparse
import json
import math
import pathlib
import time

import torch
from torch import nn
from torch.nn import functional as F

WIDTH, LAYERS, HEADS, CONTEXT = 128, 4, 4, 128
PEAK_RATE, WARMUP, CLIP = 2e-3, 100, 1.0


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention_norm = nn.LayerNorm(WIDTH)
        self.attention_input = nn.Linear(WIDTH, 3 * WIDTH)
        self.attention_output = nn.Linear(WIDTH, WIDTH)
        self.feed_forward = nn.Sequential(
            nn.LayerNorm(WIDTH),
            nn.Linear(WIDTH, 4 * WIDTH),
            nn.GELU(approximate="tanh"),
            nn.Linear(4 * WIDTH, WIDTH),
        )

    def forward(self, stream):
        rows, length, _ = stream.shape
        packed = self.attention_input(self.attention_norm(stream))
        # [3, rows, heads, length, head width]
        query, key, value = packed.view(rows, length, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        merged = attended.transpose(1, 2).reshape(rows, length, WIDTH)
        stream = stream + self.attention_output(merged)
        return stream + self.feed_forward(stream)


class Network(nn.Module):
    def __init__(self, vocabulary):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, WIDTH)
        self.positions = nn.Embedding(CONTEXT, WIDTH)
        self.layers = nn.Sequential(*(Layer() for _ in range(LAYERS)))
        self.norm = nn.LayerNorm(WIDTH)
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                nn.init.normal_(parameter, std=0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def forward(self, ids):
        stream = self.tokens(ids) + self.positions.weight[: ids.shape[1]]
        # The head is the token embedding.
        return self.norm(self.layers(stream)) @ self.tokens.weight.T


@torch.inference_mode()
def nats_per_char(network, poems):
    """Mean over all characters of `poems`, lists of ids, those of one length read together."""
    by_length = {}
    for poem in poems:
        by_length.setdefault(len(poem), []).append(poem)
    nats = characters = 0
    for group in by_length.values():
        for start in range(0, len(group), 64):
            ids = torch.tensor(group[start : start + 64])
            logits, targets = network(ids[:, :-1]), ids[:, 1:]
            nats += F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum").item()
            characters += targets.numel()
    return nats / characters


def rate(step, steps):
    cosine = 0.5 * (1 + math.cos(math.pi * step / steps))
    return PEAK_RATE * min(1, step / WARMUP) * (0.1 + 0.9 * cosine)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("train", type=pathlib.Path)
    parser.add_argument("validation", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=1850)
    parser.add_argument("--every", type=int, default=50, help="steps between reports")
    parser.add_argument("--rows", type=int, default=64, help="crops a step, 128 characters each")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    train, validation = (
        path.read_text(encoding="utf-8").split() for path in (options.train, options.validation)
    )
    characters = ["\n", *sorted(set("".join(train + validation)))]
    ids = {character: index for index, character in enumerate(characters)}
    text = torch.tensor([ids[c] for c in "\n" + "\n".join(train) + "\n"])
    poems = [[0, *(ids[c] for c in poem), 0] for poem in validation]

    network = Network(len(characters))
    optimizer = torch.optim.AdamW(network.parameters(), betas=(0.9, 0.95), weight_decay=0.1)
    offsets = torch.arange(CONTEXT + 1)
    seconds = 0.0
    for step in range(1, options.steps + 1):
        started = time.perf_counter()
        for group in optimizer.param_groups:
            group["lr"] = rate(step, options.steps)
        starts = torch.randint(len(text) - CONTEXT, (options.rows, 1))
        crops = text[starts + offsets]
        logits = network(crops[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), crops[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), CLIP)
        optimizer.step()
        seconds += time.perf_counter() - started
        if step % options.every and step != options.steps:
            continue
        report = {
            "step": step,
            "train_seconds": seconds,
            "tokens_per_second": step * options.rows * CONTEXT / seconds,
        }
        if step >= options.every:
            report["val_nats_per_char"] = nats_per_char(network, poems)
        print(json.dumps(report), flush=True)


if __name__ == "__main__":
    main()
