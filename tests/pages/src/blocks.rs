//! Finds the fenced blocks of a page in Markdown.

/// A fenced block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The text behind the fence, as in `rust,no_run`.
    pub info: String,
    /// The line of the page on which the block begins, from 1.
    pub line: usize,
    /// The text of the block, with its line ends.
    pub text: String,
}

/// Finds all fenced blocks of a page, in their order.
///
/// A fence is a line that begins with three backticks: blocks within lists, which are indented, are not found.
pub fn blocks(page: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut open: Option<Block> = None;
    for (index, line) in page.lines().enumerate() {
        match (line.strip_prefix("```"), open.take()) {
            (Some(info), None) => {
                open = Some(Block { info: info.to_owned(), line: index + 1, text: String::new() });
            }
            (Some(_), Some(block)) => found.push(block),
            (None, Some(mut block)) => {
                block.text.push_str(line);
                block.text.push('\n');
                open = Some(block);
            }
            (None, None) => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{Block, blocks};

    #[test]
    fn blocks_are_found_with_their_lines() {
        let page = "# A page\n\n```sh run\nls\nls -l\n```\n\ntext\n```\n```\n";
        let first = Block { info: "sh run".into(), line: 3, text: "ls\nls -l\n".into() };
        let second = Block { info: String::new(), line: 9, text: String::new() };
        assert_eq!(blocks(page), [first, second]);
    }

    #[test]
    fn a_block_that_is_never_closed_is_none() {
        assert_eq!(blocks("```rust\nfn main() {}\n"), []);
    }
}
