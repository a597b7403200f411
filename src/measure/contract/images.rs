//! Checks that the images exist and were built from the server that the contract names.

use std::collections::BTreeSet;
use std::path::Path;

use super::Pass;
use super::config::Contract;
use super::engine::{ANSWER, Tools};
use super::failure::Reason;
use crate::measure::valgrind::Tool;

/// The label in which a measured image names the program that it starts.
const PROGRAM_LABEL: &str = "perf-tracking.server";

/// The label with the options of the contract that a measured image starts its server with.
const OPTIONS_LABEL: &str = "perf-tracking.server-options";

/// Checks the images. Nothing is pulled, because a measured image is always built on purpose.
pub(super) async fn check(
    contract: &Contract,
    passes: &[Pass],
    folder: &Path,
    tools: &Tools,
) -> Result<(), Reason> {
    let server = &contract.server;
    let Some(base) = layers(tools, &server.image).await? else {
        return Err(Reason::Images(format!(
            "the server's image {0} is not here; build it, or `{1} pull {0}`",
            server.image, tools.engine
        )));
    };
    let mut faults = Vec::new();
    let started: BTreeSet<Tool> = passes.iter().map(|pass| pass.image()).collect();
    for tool in started {
        let image = contract.images.server(tool);
        let build = || build_server(contract, folder, tools, tool);
        let fault = match layers(tools, image).await? {
            None => Some("is missing".to_owned()),
            Some(layers) if !layers.starts_with(&base) => {
                Some(format!("is not built on {} as it is now", server.image))
            }
            Some(_) => match other_program(tools, image, server.program.name()).await? {
                None => other_options(tools, image, &server.options.join(" ")).await?,
                fault => fault,
            },
        };
        faults.extend(
            fault.map(|fault| format!("the image {image} {fault}; build it:\n  {}", build())),
        );
    }
    let load = &contract.images.load;
    if layers(tools, load).await?.is_none() {
        faults.push(format!(
            "the image {load} is missing; build it, on an image with this program:\n  {} build --file {} \
            --build-arg RUNNER_IMAGE=perf-tracking --tag {load} {}",
            tools.engine,
            folder.join("Containerfile.load").display(),
            folder.display()
        ));
    }
    if faults.is_empty() {
        return Ok(());
    }
    Err(Reason::Images(faults.join("\n")))
}

fn build_server(contract: &Contract, folder: &Path, tools: &Tools, pass: Tool) -> String {
    let file = folder.join(format!("Containerfile.{}", pass.name()));
    let options = match contract.server.options.as_slice() {
        [] => String::new(),
        options => format!(" --build-arg 'SERVER_OPTIONS={}'", options.join(" ")),
    };
    format!(
        "{} build --file {} --build-arg SERVER_IMAGE={} --build-arg SERVER={} --build-arg SERVER_USER={}{options} \
        --tag {} {}",
        tools.engine,
        file.display(),
        contract.server.image,
        contract.server.program.name(),
        contract.server.user,
        contract.images.server(pass),
        folder.display()
    )
}

async fn other_program(
    tools: &Tools,
    image: &str,
    program: &str,
) -> Result<Option<String>, Reason> {
    let template = format!("{{{{index .Config.Labels \"{PROGRAM_LABEL}\"}}}}");
    let found = inspect(tools, image, &template).await?.unwrap_or_default();
    let fault = || match found.as_str() {
        "" | "<no value>" => {
            format!("has no label {PROGRAM_LABEL}, so the program that it starts is unknown")
        }
        other => format!("starts {other}, not {program}"),
    };
    Ok((found != program).then(fault))
}

async fn other_options(
    tools: &Tools,
    image: &str,
    options: &str,
) -> Result<Option<String>, Reason> {
    let template = format!("{{{{index .Config.Labels \"{OPTIONS_LABEL}\"}}}}");
    let found = inspect(tools, image, &template).await?.unwrap_or_default();
    // An image that was built before this label existed has no such options.
    let found = if found == "<no value>" { "" } else { &found };
    let fault = || {
        format!("starts its server with the options `{found}`, and the contract has `{options}`")
    };
    Ok((found != options).then(fault))
}

/// The layers of an image, lowest first. `None` if there is no such image.
async fn layers(tools: &Tools, image: &str) -> Result<Option<Vec<String>>, Reason> {
    let template = "{{range .RootFS.Layers}}{{println .}}{{end}}";
    let found = inspect(tools, image, template).await?;
    Ok(found.map(|text| text.split_whitespace().map(str::to_owned).collect()))
}

async fn inspect(tools: &Tools, image: &str, template: &str) -> Result<Option<String>, Reason> {
    let command = tools
        .engine()
        .args(["image", "inspect", "--format", template, image]);
    let said = command.limit(ANSWER).run().await?;
    Ok(said.succeeded.then(|| said.stdout.trim().to_owned()))
}
