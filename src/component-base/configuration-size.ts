// How large a configuration file may be. It is parsed on the thread that answers everybody, at each reload.
import { statSync } from 'node:fs';

/** As the body of a request. */
const maxBytes = 3 << 20;

/** Throws when the file is not there or too large. */
export function checkConfigurationSize(path: string): void {
  const { size } = statSync(path);
  if (size > maxBytes)
    throw new Error(`${path} has ${size} bytes: a configuration file may have ${maxBytes} (3 MiB)`);
}
