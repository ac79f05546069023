// Where an object ends in the text of stored JSON: found without reading what is in it.

const quote = 0x22;
const backslash = 0x5c;
const open = 0x7b;
const close = 0x7d;

/** Where the brace stands that closes the object that is open at `at`; the text's end when none does. */
export function endOfObject(text: string, at: number): number {
  let depth = 1;
  for (let i = at; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === quote) i = endOfString(text, i);
    else if (c === open) depth++;
    else if (c === close && --depth === 0) return i;
  }
  return text.length;
}

function endOfString(text: string, from: number): number {
  for (let at = text.indexOf('"', from + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let slashes = 0;
    while (text.charCodeAt(at - 1 - slashes) === backslash) slashes++;
    if (slashes % 2 === 0) return at;
  }
  return text.length;
}
