// Edits Wine's text registry files (system.reg, user.reg) while no Wine runs. Bytes that are not touched stay as they are.

/** A number is a dword, a string REG_SZ, `expand` REG_EXPAND_SZ. */
export type RegistryValue = number | string | { readonly expand: string };

interface Key {
  /** As written between the brackets: backslashes doubled. */
  readonly name: string;
  readonly stamp: string;
  lines: string[];
}

const escaped = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('"', '\\"');

function encode(value: RegistryValue): string {
  if (typeof value === 'number') return `dword:${(value >>> 0).toString(16).padStart(8, '0')}`;
  return typeof value === 'string' ? `"${escaped(value)}"` : `str(2):"${escaped(value.expand)}"`;
}

export class RegistryFile {
  readonly #head: string[] = [];
  readonly #keys = new Map<string, Key>();

  /** `text` is the file read as latin1, so that any byte survives. */
  constructor(text: string) {
    let current: Key | undefined;
    for (const line of text.split('\n')) {
      const header = /^\[(.*)\] (\d+)/.exec(line);
      if (header) {
        const name = header[1] ?? '';
        current = { name, stamp: header[2] ?? '0', lines: [] };
        this.#keys.set(name.toLowerCase(), current);
      } else {
        (current?.lines ?? this.#head).push(line);
      }
    }
  }

  has(key: string): boolean {
    return this.#keys.has(key.replaceAll('\\', '\\\\').toLowerCase());
  }

  /** Key paths that begin with the given one, single backslashes. */
  keysBelow(prefix: string): readonly string[] {
    const start = prefix.toLowerCase();
    return [...this.#keys.values()]
      .map((key) => key.name.replaceAll('\\\\', '\\'))
      .filter((name) => name.toLowerCase().startsWith(start));
  }

  /** Sets a value, creating the key. `name` '' is the key's default value. */
  set(key: string, name: string, value: RegistryValue): void {
    const written = key.replaceAll('\\', '\\\\');
    const found = this.#keys.get(written.toLowerCase()) ?? { name: written, stamp: '0', lines: [] };
    this.#keys.set(written.toLowerCase(), found);
    const label = name === '' ? '@' : `"${escaped(name)}"`;
    found.lines = [...withoutValue(found.lines, label), `${label}=${encode(value)}`];
  }

  /** Deletes a key and everything below it. */
  delete(key: string): void {
    const start = key.replaceAll('\\', '\\\\').toLowerCase();
    for (const name of this.#keys.keys()) {
      if (name === start || name.startsWith(`${start}\\\\`)) this.#keys.delete(name);
    }
  }

  toString(): string {
    const keys = [...this.#keys.values()].map(
      (key) => `[${key.name}] ${key.stamp}\n${withoutTrailingBlanks(key.lines).join('\n')}\n`,
    );
    return `${withoutTrailingBlanks(this.#head).join('\n')}\n\n${keys.join('\n')}`;
  }
}

function withoutTrailingBlanks(lines: readonly string[]): readonly string[] {
  const end = lines.findLastIndex((line) => line !== '');
  return lines.slice(0, end + 1);
}

/** A value may go on over lines that end with a backslash. */
function withoutValue(lines: readonly string[], label: string): readonly string[] {
  const kept: string[] = [];
  let dropping = false;
  for (const line of withoutTrailingBlanks(lines)) {
    dropping = dropping || line.toLowerCase().startsWith(`${label.toLowerCase()}=`);
    if (!dropping) kept.push(line);
    else dropping = line.endsWith('\\');
  }
  return kept;
}
