// Scenarios as text, in the form of cockroachdb/datadriven: commands, `----`, what they led to. Read like a story, checked line by line.

export interface Command {
  readonly name: string;
  /** What stands behind the name without `=`. */
  readonly words: readonly string[];
  readonly options: ReadonlyMap<string, string>;
  /** What the file says it leads to. */
  readonly expected: string;
}

function commandOf(line: string, expected: string): Command {
  const [name = '', ...rest] = line.split(/ +/);
  const options = rest.filter((word) => word.includes('='));
  return {
    name,
    words: rest.filter((word) => !word.includes('=')),
    options: new Map(
      options.map((word) => [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)]),
    ),
    expected,
  };
}

/** What a scenario says of itself in its first line. */
export function titleOf(text: string): string {
  if (!text.startsWith('# ')) throw new Error('the first line of a scenario says what it is about');
  return text.slice(2, text.indexOf('\n'));
}

/**
 * Runs the commands of a scenario, and answers its text with what they led to: the same text where all is as expected.
 * Comments (`#`) stay; a block ends with an empty line.
 */
export async function replay(
  text: string,
  run: (command: Command) => Promise<string> | string,
): Promise<string> {
  const blocks: string[] = [];
  for (const block of text.trimEnd().split(/\n\n+/)) {
    const lines = block.split('\n');
    const at = lines.indexOf('----');
    const before = at < 0 ? lines : lines.slice(0, at);
    const expected = at < 0 ? '' : lines.slice(at + 1).join('\n');
    const commands = before.filter((line) => !line.startsWith('#'));
    if (commands.length > 1) throw new Error(`one command a block: ${commands.join('; ')}`);
    if (commands[0] === undefined) {
      blocks.push(block);
      continue;
    }
    const came = await run(commandOf(commands[0], expected));
    blocks.push([...before, '----', ...(came === '' ? [] : [came])].join('\n'));
  }
  return `${blocks.join('\n\n')}\n`;
}
