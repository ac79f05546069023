// Text without what it ends in. A regular expression of `/+$` tries each run of slashes from each of its places: quadratic time.

export function withoutTrailing(text: string, character: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === character) end--;
  return end === text.length ? text : text.slice(0, end);
}

export function withoutLeading(text: string, character: string): string {
  let start = 0;
  while (text[start] === character) start++;
  return start === 0 ? text : text.slice(start);
}
