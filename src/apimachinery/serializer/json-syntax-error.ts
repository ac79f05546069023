// What is wrong with a text that is no JSON, in Go's words: clients read them.

const show = (c: string): string =>
  c === "'" ? "'\\''" : c === '"' ? "'\"'" : `'${JSON.stringify(c).slice(1, -1)}'`;

/** The sentence on the first fault; of a text without one, on what comes after it. */
export function syntaxError(text: string): string {
  const scan = new Scan(text);
  return scan.value() ?? scan.afterValue();
}

/** Each answers the fault that it comes to, if any. */
type Fault = string | undefined;

class Scan {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(): Fault {
    this.#space();
    const c = this.#text[this.#at];
    if (c === '{' || c === '[') return this.#collection(c);
    if (c === '"') return this.#string();
    if (c === 't') return this.#literal('true');
    if (c === 'f') return this.#literal('false');
    if (c === 'n') return this.#literal('null');
    if (c !== undefined && /[-0-9]/.test(c)) return this.#number();
    return this.#bad('looking for beginning of value');
  }

  afterValue(): string {
    this.#space();
    return this.#bad('after top-level value');
  }

  #bad(context: string): string {
    const c = this.#text[this.#at];
    return c === undefined ? 'unexpected end of JSON input' : `invalid character ${show(c)} ${context}`;
  }

  #space(): void {
    while (this.#at < this.#text.length && ' \t\r\n'.includes(this.#text[this.#at]!)) this.#at++;
  }

  /** Goes past it when it is next. */
  #takes(c: string): boolean {
    this.#space();
    if (this.#text[this.#at] !== c) return false;
    this.#at++;
    return true;
  }

  #literal(word: string): Fault {
    for (const c of word) {
      if (this.#text[this.#at] !== c) return this.#bad(`in literal ${word} (expecting ${show(c)})`);
      this.#at++;
    }
    return undefined;
  }

  #number(): Fault {
    const match = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
    match.lastIndex = this.#at;
    const found = match.exec(this.#text);
    this.#at += found ? found[0].length : 1;
    return found ? undefined : this.#bad('in numeric literal');
  }

  #string(): Fault {
    for (this.#at++; this.#at < this.#text.length; this.#at++) {
      const c = this.#text[this.#at]!;
      if (c === '"') {
        this.#at++;
        return undefined;
      }
      if (c < ' ') return this.#bad('in string literal');
      const fault = c === '\\' ? this.#escape() : undefined;
      if (fault) return fault;
    }
    return this.#bad('');
  }

  #escape(): Fault {
    this.#at++;
    const c = this.#text[this.#at] ?? '\0';
    if (c !== 'u') return '"\\/bfnrt'.includes(c) ? undefined : this.#bad('in string escape code');
    for (let i = 0; i < 4; i++) {
      this.#at++;
      if (!/[0-9a-fA-F]/.test(this.#text[this.#at] ?? ''))
        return this.#bad('in \\u hexadecimal character escape');
    }
    return undefined;
  }

  #collection(open: '{' | '['): Fault {
    const close = open === '{' ? '}' : ']';
    this.#at++;
    if (this.#takes(close)) return undefined;
    for (;;) {
      const fault = (open === '{' ? this.#key() : undefined) ?? this.value();
      if (fault) return fault;
      if (this.#takes(close)) return undefined;
      if (!this.#takes(','))
        return this.#bad(open === '{' ? 'after object key:value pair' : 'after array element');
    }
  }

  #key(): Fault {
    this.#space();
    if (this.#text[this.#at] !== '"') return this.#bad('looking for beginning of object key string');
    const fault = this.#string();
    if (fault) return fault;
    return this.#takes(':') ? undefined : this.#bad('after object key');
  }
}
