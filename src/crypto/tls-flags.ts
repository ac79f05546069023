// Flags of the TLS library that Node has no option for.
import { constants } from 'node:crypto';

/** A connection has one handshake, as in Go: a second one could be of any length. */
export const noRenegotiation: number = constants.SSL_OP_NO_RENEGOTIATION;
