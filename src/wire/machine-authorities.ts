// Whom the machine trusts, for servers of which nobody says who vouches for them.
import { getCACertificates } from 'node:tls';
import { once } from '../base/once.ts';

/** PEM; read when first asked for. undefined: the machine has none, and Node's own are taken. */
export const machineAuthorities: () => string[] | undefined = once(() => {
  const found = getCACertificates('system');
  return found.length > 0 ? found : undefined;
});
