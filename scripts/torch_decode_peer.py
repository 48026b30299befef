"""Times decoding in PyTorch, eager, on the geometry of one of this project's models.

    .venv-hf/bin/python scripts/torch_decode_peer.py --family gpt2 --vocabulary 6289 ...

`tang bench-decode` runs it. The weights are random, since they change no time. A text begins with
one token, and each further one is drawn as `tang` does by default, but for the repetition penalty:
temperature 0.9, top-p 0.8. Prints one line of JSON: the medians with a cache and without.
"""

import argparse
import json
import statistics
import time

import torch
from torch import nn
from torch.nn import functional


class Norm(nn.Module):
    def __init__(self, family, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width)) if family == "gpt2" else None

    def forward(self, x):
        shape = self.weight.shape
        if self.bias is None:
            return functional.rms_norm(x, shape, self.weight, 1e-5)
        return functional.layer_norm(x, shape, self.weight, self.bias, 1e-5)


class Block(nn.Module):
    def __init__(self, geometry):
        super().__init__()
        self.geometry = geometry
        width, inner = geometry.width, geometry.inner
        gpt2 = geometry.family == "gpt2"
        self.head_dim = width // geometry.heads
        columns = width + 2 * geometry.kv_heads * self.head_dim
        self.first_norm = Norm(geometry.family, width)
        self.second_norm = Norm(geometry.family, width)
        self.projection = nn.Linear(width, columns, bias=gpt2)
        self.output = nn.Linear(width, width, bias=gpt2)
        self.wide = nn.Linear(width, inner if gpt2 else 2 * inner, bias=gpt2)
        self.back = nn.Linear(inner, width, bias=gpt2)

    def forward(self, x, rotation, cache):
        geometry = self.geometry
        length = x.shape[1]
        sizes = (geometry.heads, geometry.kv_heads, geometry.kv_heads)
        heads = self.projection(self.first_norm(x)).view(1, length, -1, self.head_dim)
        query, key, value = heads.transpose(1, 2).split(sizes, dim=1)
        if rotation is not None:
            query, key = turn(query, *rotation), turn(key, *rotation)
        causal = length > 1
        if cache is not None:
            if cache:
                key = torch.cat((cache[0], key), dim=2)
                value = torch.cat((cache[1], value), dim=2)
            cache[:] = (key, value)
        attended = functional.scaled_dot_product_attention(
            query, key, value, is_causal=causal, enable_gqa=geometry.heads != geometry.kv_heads
        )
        x = x + self.output(attended.transpose(1, 2).reshape(1, length, -1))
        hidden = self.wide(self.second_norm(x))
        if geometry.family == "gpt2":
            hidden = functional.gelu(hidden, approximate="tanh")
        else:
            gate, hidden = hidden.chunk(2, dim=-1)
            hidden = functional.silu(gate) * hidden
        return x + self.back(hidden)


def turn(x, cosines, sines):
    first, second = x.chunk(2, dim=-1)
    return x * cosines + torch.cat((-second, first), dim=-1) * sines


class Peer(nn.Module):
    def __init__(self, geometry):
        super().__init__()
        self.tokens = nn.Embedding(geometry.vocabulary, geometry.width)
        gpt2 = geometry.family == "gpt2"
        self.positions = nn.Embedding(geometry.context, geometry.width) if gpt2 else None
        self.blocks = nn.ModuleList(Block(geometry) for _ in range(geometry.layers))
        self.norm = Norm(geometry.family, geometry.width)
        half = geometry.width // geometry.heads // 2
        angles = torch.outer(
            torch.arange(geometry.context), 10_000.0 ** (-torch.arange(half) / half)
        ).repeat(1, 2)
        self.tables = (angles.cos(), angles.sin())

    def forward(self, ids, start, caches):
        """Logits behind the last token; `start` tokens stand before, in the caches."""
        place = slice(start, start + ids.shape[1])
        x, rotation = self.tokens(ids), None
        if self.positions is None:
            rotation = tuple(table[place] for table in self.tables)
        else:
            x = x + self.positions.weight[place]
        for block, cache in zip(self.blocks, caches):
            x = block(x, rotation, cache)
        return self.norm(x[:, -1]) @ self.tokens.weight.T


def draw(logits):
    best, tokens = (logits[0] / 0.9).sort(descending=True)
    shares = best.softmax(-1)
    # The token that crosses the limit is kept.
    shares[shares.cumsum(-1) - shares >= 0.8] = 0.0
    return tokens[torch.multinomial(shares, 1)]


@torch.inference_mode()
def text_ms(peer, characters, with_cache):
    ids = torch.zeros(1, 1, dtype=torch.long)
    caches = [[] if with_cache else None for _ in peer.blocks]
    started = time.perf_counter()
    for step in range(characters):
        new = ids[:, -1:] if with_cache else ids
        token = draw(peer(new, step if with_cache else 0, caches))
        ids = torch.cat((ids, token.view(1, 1)), dim=1)
    return (time.perf_counter() - started) * 1e3


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--family", choices=("gpt2", "llama"), required=True)
    sizes = "vocabulary context width layers heads kv-heads inner characters runs"
    for name in sizes.split():
        parser.add_argument(f"--{name}", type=int, required=True)
    geometry = parser.parse_args()
    torch.manual_seed(0)
    peer = Peer(geometry).eval()
    times = {True: [], False: []}
    for run in range(geometry.runs + 1):
        for with_cache, list_ in times.items():
            taken = text_ms(peer, geometry.characters, with_cache)
            if run > 0:
                list_.append(taken)
    print(
        json.dumps(
            {
                "torch": torch.__version__,
                "threads": torch.get_num_threads(),
                "cached_ms": statistics.median(times[True]),
                "uncached_ms": statistics.median(times[False]),
            }
        )
    )


if __name__ == "__main__":
    main()
