// Names that files, identifiers and the API can all carry. Pure.

type Nameable = 'name' | 'kind' | 'group' | 'version' | 'plural';

const forms: Record<Nameable, readonly [RegExp, string]> = {
  name: [/^[A-Za-z][A-Za-z0-9]*(-[A-Za-z0-9]+)*$/, 'letters and digits, a letter first, as job-counter'],
  kind: [/^[A-Z][A-Za-z0-9]*$/, 'CamelCase, as CronTab'],
  // The first label names a folder and a constant, so unlike elsewhere in DNS it begins with a letter.
  group: [
    /^[a-z][a-z0-9]*(-+[a-z0-9]+)*(\.[a-z0-9]+(-+[a-z0-9]+)*)*$/,
    'a DNS name that begins with a letter, as example.com',
  ],
  version: [/^v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?$/, 'v1, v1beta1 or the like'],
  plural: [/^[a-z][a-z0-9]*$/, 'small letters and digits, a letter first, as crontabs'],
};

/** Of JavaScript: no constant has such a name. */
const reserved = new Set(
  'arguments await break case catch class const continue debugger default delete do else enum eval export extends false finally for function if implements import in instanceof interface let new null package private protected public return static super switch this throw true try typeof undefined var void while with yield'.split(
    ' ',
  ),
);

/** Throws Error for what a file can't export by that name. */
export function checkConstant(what: Nameable, text: string): void {
  if (reserved.has(text))
    throw new Error(`${JSON.stringify(text)} is no ${what}: it is a word of JavaScript`);
}

/** Throws Error for a text that is no such name. */
export function checkName(what: Nameable, text: string): void {
  const [form, inWords] = forms[what];
  if (!form.test(text)) throw new Error(`${JSON.stringify(text)} is no ${what}: it takes ${inWords}`);
}
