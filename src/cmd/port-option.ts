// A port as a flag.
import { InvalidArgumentError } from 'commander';

const portFrom =
  (lowest: number) =>
  (text: string): number => {
    const value = Number(text);
    if (Number.isInteger(value) && value >= lowest && value <= 65_535) return value;
    throw new InvalidArgumentError(`a port from ${lowest} to 65535.`);
  };

/** 0 is one that is free. */
export const port: (text: string) => number = portFrom(0);
/** Something is named by it: no port of the system's choice. */
export const fixedPort: (text: string) => number = portFrom(1);
