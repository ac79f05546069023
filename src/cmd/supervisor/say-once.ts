// A trouble that is met again and again is said once, and that it is over.

/** Of a `body` that throws the answer is `otherwise`. */
export function sayOnce(what: string, say: (text: string) => void): <T>(body: () => T, otherwise: T) => T {
  let last: string | undefined;
  return (body, otherwise) => {
    try {
      const result = body();
      if (last !== undefined) say(`${what}: that works again`);
      last = undefined;
      return result;
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (message !== last) say(`${what}: ${message}`);
      last = message;
      return otherwise;
    }
  };
}
