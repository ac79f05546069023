// `$(NAME)` in commands, arguments and variables, as Kubernetes expands them. Pure.

/** What Linux takes as one argument or variable (MAX_ARG_STRLEN); Windows takes less. */
const maxLength = 128 * 1024;

/** What Linux gives a program of arguments or of variables: three quarters of its largest stack (_STK_LIM). */
const maxTotal = 6 * 1024 * 1024;

/** Passes on texts until they are more than a program can be given. */
export function withinLimit(what: string): (text: string) => string {
  let total = 0;
  return (text) => {
    total += text.length;
    if (total > maxTotal) throw new Error(`${what} has more than ${maxTotal} characters`);
    return text;
  };
}

/**
 * `$$(X)` is a literal `$(X)`; an unknown name stays as it is written. Throws when the text grows beyond what a program can
 * be given: variables that name each other twice double with each line.
 */
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
      if (out.length > maxLength) throw new Error(`expands to more than ${maxLength} characters`);
    }
  }
  return out;
}
