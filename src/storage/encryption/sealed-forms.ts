// In which forms values lie in a store, sealed by one key or another, and how the form of a value is found.

/** An opened value. */
export interface Opened {
  readonly plain: Buffer;
  /** Which key of which form it lay under; as `SealedForm.lies` says it of what is written now. */
  readonly lies: string;
}

/** One provider, or one of its keys. */
export interface SealedForm {
  /** `k8s:enc:aesgcm:v1:`, in bytes: names of keys are not ASCII alone. Empty: the value as it is. */
  readonly prefix: Buffer;
  /** What lies otherwise is to be written again, though nothing in it changes. */
  lies(): string;
  /** Throws Error. */
  seal(value: Uint8Array, place: string): Uint8Array;
  /** A promise where the key must be asked for first. Throws, or rejects with, Error. */
  open(sealed: Buffer, place: string): Opened | Promise<Opened>;
}

/** Told of each attempt to open, with the error where it failed. */
export type OnAttempt = (form: SealedForm, error: unknown) => void;

/** Throws Error for what it can not do. */
export interface Cipher {
  seal(value: Uint8Array, place: string): Uint8Array;
  open(sealed: Uint8Array, place: string): Buffer;
}

const everyPrefix = Buffer.from('k8s:enc:');

export const isSealed = (value: Uint8Array): boolean =>
  value.length > everyPrefix.length && everyPrefix.equals(value.subarray(0, everyPrefix.length));

/** As it is; what begins as a sealed value does is none. */
export const identityForm: SealedForm = {
  prefix: Buffer.alloc(0),
  lies: () => '',
  seal: (value) => value,
  open(plain) {
    if (isSealed(plain)) throw new Error('identity transformer tried to read encrypted data');
    return { plain, lies: '' };
  },
};

const startsWith = (value: Buffer, { prefix }: SealedForm): boolean =>
  value.subarray(0, prefix.length).equals(prefix);

/** As upstream puts several errors into one: each once. */
function reduced(errors: readonly Error[]): Error {
  const texts = [...new Set(errors.map(({ message }) => message))];
  return texts.length === 1 ? errors[0]! : new Error(`[${texts.join(', ')}]`, { cause: errors[0] });
}

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));

/**
 * By the first form that can. A key of the same name may be another key: each form that the value begins as is tried, and
 * what `identity` says counts for nothing beside the others.
 */
export function openByAny(
  forms: readonly SealedForm[],
  value: Buffer,
  place: string,
  noMatch: string,
  onAttempt: OnAttempt = () => {},
): Opened | Promise<Opened> {
  const errors: Error[] = [];
  const failed = (form: SealedForm, error: unknown): void => {
    if (form.prefix.length === 0) return;
    onAttempt(form, error);
    errors.push(asError(error));
  };
  const from = (start: number): Opened | Promise<Opened> => {
    for (let i = start; i < forms.length; i++) {
      const form = forms[i]!;
      if (!startsWith(value, form)) continue;
      try {
        const opened = form.open(value.subarray(form.prefix.length), place);
        if (opened instanceof Promise)
          return opened.then(
            (late) => {
              onAttempt(form, undefined);
              return late;
            },
            (error) => {
              failed(form, error);
              return from(i + 1);
            },
          );
        onAttempt(form, undefined);
        return opened;
      } catch (error) {
        failed(form, error);
      }
    }
    throw errors.length === 0 ? new Error(noMatch) : reduced(errors);
  };
  return from(0);
}

/** A key by its name. `lies` tells it from others of that name. */
export const keyForm = (name: string, lies: string, { seal, open }: Cipher): SealedForm => ({
  prefix: Buffer.from(`${name}:`),
  lies: () => lies,
  seal,
  open: (sealed, place) => ({ plain: open(sealed, place), lies }),
});

/** A provider with keys: the first writes, all read. */
export function keysForm(prefix: string, keys: readonly SealedForm[], noMatch: string): SealedForm {
  const [first] = keys as readonly [SealedForm];
  return {
    prefix: Buffer.from(prefix),
    lies: () => first.lies(),
    seal: (value, place) => Buffer.concat([first.prefix, first.seal(value, place)]),
    open: (sealed, place) => openByAny(keys, sealed, place, noMatch),
  };
}

/** Of a cipher that can't tell whether it had the right key: what is no JSON was none of its values. */
export const onlyJson = <C extends Cipher>(cipher: C): C => ({
  ...cipher,
  open(sealed, place) {
    const plain = cipher.open(sealed, place);
    try {
      JSON.parse(plain.toString('latin1'));
      return plain;
    } catch {
      throw new Error('the opened bytes are no JSON');
    }
  },
});
