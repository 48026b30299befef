//! The program on a GPU.

use crate::{
    at_root,
    work::{prints, run, tang},
};

fn words<'a>(device: &'a str, checkpoint: &'a str) -> Vec<&'a str> {
    let mut words = vec!["acrostic", "春眠不觉", "--line", "5", "--seed", "3"];
    words.extend(["--regulated", "--device", device, "--checkpoint", checkpoint]);
    words
}

#[test]
fn an_acrostic_is_the_same_and_the_device_is_named() {
    let checkpoint = at_root("checkpoints/tang-4l");
    let checkpoint = checkpoint.to_str().unwrap();
    let cpu = prints(&words("flex", checkpoint));
    for device in ["wgpu", "auto"] {
        let ended = run(&mut tang(words(device, checkpoint)));
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert_eq!(ended.stdout, cpu);
        let device = ended.stderr.lines().find(|line| line.starts_with("device: "));
        let device = device.unwrap_or_else(|| panic!("{}", ended.stderr));
        assert!(device.ends_with("Burn's wgpu backend"), "{device}");
    }
}

#[test]
fn devices_are_listed_and_one_is_marked() {
    let ended = run(&mut tang(["devices"]));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert_eq!(lines[0], "flex  CPU, Burn's flex backend");
    assert!(lines[1..].iter().all(|line| line.starts_with("wgpu  ")));
    let marked = lines.iter().filter(|line| line.ends_with(" *"));
    assert_eq!(marked.count(), 1, "{lines:?}");
}

#[test]
fn without_an_adapter_it_says_what_to_install() {
    let hidden = |words: &[&str]| {
        let mut command = tang(words);
        // Where the loaders of Vulkan and OpenGL look for drivers.
        for variable in ["VK_ICD_FILENAMES", "VK_DRIVER_FILES", "__EGL_VENDOR_LIBRARY_FILENAMES"] {
            command.env(variable, "/nowhere");
        }
        run(&mut command)
    };
    let ended = hidden(&["devices"]);
    assert_eq!(ended.code, Some(0));
    assert_eq!(ended.stdout.lines().count(), 1, "{}", ended.stdout);
    assert!(ended.stderr.contains("install its driver"), "{}", ended.stderr);

    let checkpoint = at_root("checkpoints/tang-4l");
    let checkpoint = checkpoint.to_str().unwrap();
    let ended = hidden(&words("wgpu", checkpoint));
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""));
    assert!(ended.stderr.contains("install its driver"), "{}", ended.stderr);

    let ended = hidden(&words("auto", checkpoint));
    assert_eq!(ended.stdout, prints(&words("flex", checkpoint)));
    assert!(ended.stderr.contains("\ndevice: CPU\n"), "{}", ended.stderr);
}
