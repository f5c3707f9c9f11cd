//! `zkelect completions` and `zkelect man`.

use std::fs;
use std::process::{Command, Stdio};

use crate::support::{Folder, output, output_of, text, touch};

#[test]
fn shells_complete_subcommands_and_options() {
    let shells = [
        ("bash", "complete -F _zkelect"),
        ("zsh", "#compdef zkelect"),
        ("fish", "complete -c zkelect"),
        ("elvish", "edit:completion"),
        ("powershell", "Register-ArgumentCompleter"),
    ];
    for (shell, said) in shells {
        let script = output(&["completions", shell]);
        assert_eq!(script.status.code(), Some(0), "{}", text(&script.stderr));
        let script = text(&script.stdout);
        assert!(script.contains(said) && script.contains("step-down"), "{shell}: {script}");
        assert!(!script.contains("guard"), "{shell}");
    }
    assert_eq!(output(&["completions", "csh"]).status.code(), Some(2));
    let folder = Folder::new("completions");
    let file = folder.file("zkelect.bash");
    fs::write(&file, output(&["completions", "bash"]).stdout).expect("a file");
    let asks = r#". "$0"; COMP_WORDS=(zkelect ste); COMP_CWORD=1
        _zkelect zkelect ste zkelect; echo "${COMPREPLY[@]}""#;
    let bash = Command::new("bash").args(["-c", asks]).arg(&file).stdin(Stdio::null()).output();
    assert_eq!(text(&bash.expect("bash runs").stdout), "step-down\n");
}

#[test]
fn each_subcommand_has_a_manual_page() {
    let folder = Folder::new("man");
    let out = folder.file("man1");
    let path = out.to_str().expect("UTF-8");
    let written = output(&["man", "--out", path]);
    assert_eq!(written.status.code(), Some(0), "{}", text(&written.stderr));
    let page = |name: &str| fs::read_to_string(out.join(name)).expect("a page");
    assert!(page("zkelect.1").contains("zkelect\\-step\\-down(1)"));
    assert!(page("zkelect-queue-take.1").contains("ZKELECT_TIMEOUT"));
    for name in ["zkelect-watch.1", "zkelect-members-join.1", "zkelect-man.1"] {
        assert!(page(name).contains("Examples:"), "{name}");
    }
    let file = folder.file("file");
    touch(&file).expect("a file");
    let below = file.join("man1");
    let refused = output_of(&["man", "--out", below.to_str().expect("UTF-8")], b"");
    assert_eq!(refused.status.code(), Some(71));
    assert!(text(&refused.stderr).contains("manual pages cannot be written"));
}
