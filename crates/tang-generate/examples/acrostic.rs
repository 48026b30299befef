//! Prints a 七绝 whose lines begin with 春眠不觉, rhymed and in regulated tones.

use std::{error::Error, path::Path, sync::Arc};

use tang_checkpoint::ModelFolder;
use tang_engine::{CachedDecoder, Engine, Threads};
use tang_generate::{GenerationConfig, Generator, Rules, Task};
use tang_prosody::{Form, Template};
use tang_tokenizer::Vocabulary;

#[expect(clippy::print_stdout, reason = "an example prints")]
fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../checkpoints/tang-4l"));
    let vocabulary = Vocabulary::load(folder)?;
    let (config, weights) = ModelFolder::open(folder)?.into_parts();
    let engine = Arc::new(Engine::pack(&config, &weights)?);
    let mut decoder = CachedDecoder::new(&engine, Threads::available());

    let template = Template::acrostic("春眠不觉", Form::QiJue.into(), 0)?;
    let task = Task::verse(&template, &Rules::regulated(), &vocabulary)?;
    let generator = Generator::new(&mut decoder, task, &GenerationConfig::default())?;
    let poem = generator.finish()?;
    print!("{}", vocabulary.decode(poem.generated())?);
    Ok(())
}
