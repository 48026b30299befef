//! Greedy poems of the committed models.

use crate::work::prints;

const CHECKPOINTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../checkpoints");

#[test]
fn the_likeliest_poem_of_each_model_is_this() {
    for (model, poem) in [
        ("tang-4l", "一别三年别故乡，一杯相送泪沾裳。\n不知今日相思泪，更有离情泪满行。\n"),
        ("minimind-4l", "一别三千里外游，一生心事在天涯。\n不知此地无人识，唯有春风一片云。\n"),
    ] {
        let checkpoint = format!("{CHECKPOINTS}/{model}");
        let command =
            ["write", "--form", "七绝", "--temperature", "0", "--repetition-penalty", "1"];
        let words = [command.as_slice(), &["--checkpoint", &checkpoint]].concat();
        assert_eq!(prints(&words), poem, "{model}");
    }
}
