// Hardware addresses made of IPv4 addresses: known beforehand, and the same after a restart.
const hex = (byte: string): string => Number(byte).toString(16).padStart(2, '0');

/** In the range that CNI plugins use for theirs. */
export const hardwareAddressOf = (address: string): string =>
  `0a:58:${address.split('.').map(hex).join(':')}`;
