// Reads the text of a list. One long number in it makes none of the other objects slower to read.
import { mayHoldLongNumber, readJson } from '../apimachinery/serializer/json-numbers.ts';
import type { ObjectList } from './client.ts';

/** Just behind the string that begins at `from`. */
function endOfString(text: string, from: number): number {
  for (let end = text.indexOf('"', from + 1); end > 0; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text[end - 1 - escapes] === '\\') escapes++;
    if (escapes % 2 === 0) return end + 1;
  }
  return text.length;
}

const wordOf = /["[\]{}]/g;

/** Where the objects of the list's own array begin and end. */
function itemSpans(text: string): (readonly [number, number])[] {
  const spans: (readonly [number, number])[] = [];
  const open: string[] = [];
  let from = 0;
  wordOf.lastIndex = 0;
  for (let found = wordOf.exec(text); found; found = wordOf.exec(text)) {
    const { index } = found;
    const word = found[0];
    if (word === '"') wordOf.lastIndex = endOfString(text, index);
    else if (word === '{' || word === '[') {
      if (open.length === 2 && open[1] === '[') from = index;
      open.push(word);
    } else {
      open.pop();
      if (open.length === 2 && open[1] === '[') spans.push([from, index + 1]);
    }
  }
  return spans;
}

export function readObjectList<T>(text: string): ObjectList<T> {
  if (!mayHoldLongNumber(text)) return JSON.parse(text) as ObjectList<T>;
  const spans = itemSpans(text);
  const [first, last] = [spans[0], spans.at(-1)];
  if (!first || !last) return readJson(text) as unknown as ObjectList<T>;
  const list = JSON.parse(text.slice(0, first[0]) + text.slice(last[1])) as ObjectList<T>;
  return { ...list, items: spans.map(([from, to]) => readJson(text.slice(from, to)) as T) };
}
