// Aligned columns, as kubectl prints them.

export function tableText(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => (row[column] ?? '').length)));
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]! + 3))
        .join('')
        .trimEnd(),
    )
    .join('\n');
}

export function printTable(head: readonly string[], rows: readonly (readonly string[])[]): void {
  console.log(tableText(head, rows));
}
