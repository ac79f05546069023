// Sources as syntax trees: a file is parsed once for all rules that read it.
import { readFileSync } from 'node:fs';
import ts from 'typescript';

const read = new Map<string, ts.SourceFile>();

export const parsedText = (file: string, text: string): ts.SourceFile =>
  ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);

export function parsedFile(file: string): ts.SourceFile {
  const source = read.get(file) ?? parsedText(file, readFileSync(file, 'utf8'));
  read.set(file, source);
  return source;
}
