// `$(NAME)` in commands, arguments and variables, as Kubernetes expands them. Pure.
import { maxStringBytes } from './exec-budget.ts';

/**
 * `$$(X)` is a literal `$(X)`; an unknown name stays as it is written. Throws when the text grows beyond what a program can
 * be given: variables that name each other twice double with each line.
 */
export function expand(text: string, value: (name: string) => string | undefined): string {
  let out = '';
  // Looked for once only when there is none: a megabyte of `$(` would else be read as often as it has brackets.
  const lastClosing = text.lastIndexOf(')');
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
    const end = next === '(' && i + 2 <= lastClosing ? text.indexOf(')', i + 2) : -1;
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
      if (out.length > maxStringBytes) throw new Error(`expands to more than ${maxStringBytes} characters`);
    }
  }
  return out;
}
