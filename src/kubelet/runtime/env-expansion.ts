// `$(NAME)` in commands, arguments and variables, as Kubernetes expands them. Pure.

/** `$$(X)` is a literal `$(X)`; an unknown name stays as it is written. */
export function expand(text: string, value: (name: string) => string | undefined): string {
  let out = '';
  for (let i = 0; i < text.length; i++) {
    if (text[i] !== '$' || i + 1 >= text.length) {
      out += text[i];
      continue;
    }
    const next = text[i + 1]!;
    if (next === '$') {
      out += '$';
      i++;
      continue;
    }
    const end = next === '(' ? text.indexOf(')', i + 2) : -1;
    if (next !== '(') {
      out += `$${next}`;
      i++;
    } else if (end < 0) {
      // An unclosed reference is text.
      out += '$(';
      i++;
    } else {
      const name = text.slice(i + 2, end);
      out += value(name) ?? `$(${name})`;
      i = end;
    }
  }
  return out;
}
