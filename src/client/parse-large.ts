// Answers and events of megabytes are parsed in turns: the server's own components share its thread with all clients.
import { readJson, readJsonSteps } from '../apimachinery/serializer/json-numbers.ts';
import { eachInTurn } from '../base/turns.ts';
import { threadTurns } from '../component-base/thread-turns.ts';

/** What is smaller is parsed within two milliseconds. */
const largeLength = 64 * 1024;

const isLarge = (text: string): boolean => text.length > largeLength;

/** Throws SyntaxError. */
export const parseLarge = (text: string): unknown =>
  isLarge(text) ? eachInTurn(readJsonSteps(text), threadTurns) : readJson(text);
