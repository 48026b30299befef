"""Prints the table by which the defaults of the sampler are chosen.

    cargo build --release && python3 scripts/sampling_table.py --checkpoint checkpoints/tang-4l

Each line is one `tang eval` with a setting. A rate is the largest of the four forms, with and
without `--regulated`, divided by that of real poems of the form: the sampler is to keep all below
2. In brackets is the worst row. A rate that real poems lack is divided by one real case. The rest is
about free poems of fixed form: rhyme, tones, and nats per free character, which are means over the forms.
Other settings: --setting "--temperature 0.9 --top-p 0.8".
"""

import argparse
import json
import subprocess

GRID = [
    f"--temperature {temperature} --top-k {top_k} --top-p {top_p} --repetition-penalty {penalty}"
    for temperature, top_k, top_p, penalty in (
        (0.85, 50, 0.85, 1.0),
        (0.85, 50, 0.85, 1.5),
        (0.85, 0, 0.85, 1.0),
        (0.85, 0, 0.85, 1.5),
        (0.9, 0, 0.8, 1.3),
        (0.9, 0, 0.8, 1.4),
        (0.9, 0, 0.8, 1.5),
        (0.9, 0, 0.85, 1.5),
        (1.0, 0, 0.75, 1.5),
        (1.0, 0, 0.9, 1.5),
        (1.0, 0, 1.0, 1.0),
    )
]
KINDS = ("form only", "regulated")
RATES = ("thrice", "words", "lines", "shared", "copied", "opening", "ten")


def rates(row):
    """The shares of a row by name, each as (part, whole)."""
    own = row["repetition"]
    openings = [(opening["poems"]["part"], opening["poems"]["whole"]) for opening in own["openings"]]
    shares = {name: own[name] for name in ("thrice", "words", "lines")}
    shares |= {"shared": own["shared_lines"], "copied": row["copied_lines"]}
    shares = {name: (share["part"], share["whole"]) for name, share in shares.items()}
    ten = (sum(part for part, _ in openings), row["poems"])
    return shares | {"opening": openings[0], "ten": ten}


def line(evaluation):
    rows = {(row["form"], row["name"]): row for row in evaluation["rows"] if row["form"]}
    forms = sorted({form for form, _ in rows})
    cells = []
    for name in RATES:
        worst = []
        for form in forms:
            part, whole = rates(rows[form, "held-out"])[name]
            real = max(part, 1) / whole
            for kind in KINDS:
                part, whole = rates(rows[form, kind])[name]
                worst.append((part / whole / real, f"{form} {100 * part / whole:.1f} %"))
        ratio, row = max(worst)
        cells.append(f"{ratio:.1f} ({row})")
    free = [rows[form, "form only"] for form in forms]
    regulated = [rows[form, "regulated"] for form in forms]
    for rule in ("rhyme", "tones"):
        cells.append(f"{100 * sum(row['scores'][rule]['rate'] for row in free) / len(free):.1f} %")
    for kind in (free, regulated):
        cells.append(f"{sum(row['nats_per_free_char'] for row in kind) / len(kind):.2f}")
    return cells


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tang", default="target/release/tang")
    parser.add_argument("--checkpoint", default="checkpoints/tang-4l")
    parser.add_argument("--corpus", default="data")
    parser.add_argument("--poems", default="500")
    parser.add_argument("--setting", action="append", help="flags of one line; may be repeated")
    options = parser.parse_args()
    names = ["setting", *RATES, "rhyme", "tones", "nats free", "regulated"]
    print("|", " | ".join(names), "|\n|---|" + "---:|" * (len(names) - 1))
    forms = [word for form in ("五绝", "七绝", "五律", "七律") for word in ("--form", form)]
    for setting in options.setting or GRID:
        command = [options.tang, "eval", "--json", "--poems", options.poems, *forms]
        command += ["--corpus", options.corpus, "--checkpoint", options.checkpoint, *setting.split()]
        result = subprocess.run(command, check=True, stdout=subprocess.PIPE)
        print("|", " | ".join([setting.replace("--", ""), *line(json.loads(result.stdout))]), "|", flush=True)


if __name__ == "__main__":
    main()
