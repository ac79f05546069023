// Values of flags that name several things, separated by commas, as upstream's flags take them.

export const listed = (text: string): string[] => text.split(',').filter((part) => part !== '');

/** Of a flag that may be given again. */
export const gathered = (text: string, before: readonly string[] = []): string[] => [
  ...before,
  ...listed(text),
];
