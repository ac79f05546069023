// The turns of this thread: whoever has much to do in it takes them, so that a round of the event loop has one piece of it.
import { Turns } from '../base/turns.ts';

export const threadTurns: Turns = new Turns(setImmediate);
