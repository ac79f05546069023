// What may stand where the cursor is: found by walking the commands as they are declared.
import type { Argument, Command, Option } from 'commander';

export interface Candidate {
  readonly value: string;
  readonly description?: string;
}

/** 'files': the shell knows them better. */
export type Candidates = readonly Candidate[] | 'files';

/** Names of what there is; none when nobody can tell. */
export interface ThingsThere {
  clusters(): readonly string[];
  nodes(cluster: string): readonly string[];
  logs(cluster: string): readonly string[];
}

interface Place {
  readonly command: Command;
  /** How many arguments stand before the cursor. */
  readonly arguments: number;
  /** Whose value stands there. */
  readonly option: Option | undefined;
  readonly cluster: string;
}

const defaultCluster = 'default';
const takesValue = ({ required, optional }: Option): boolean => required || optional;

const optionOf = (command: Command, word: string): Option | undefined =>
  command.options.find(({ long, short }) => word === long || word === short);

const subcommandOf = (command: Command, word: string): Command | undefined =>
  command.commands.find((one) => one.name() === word || one.aliases().includes(word));

function placeAfter(program: Command, words: readonly string[]): Place {
  let command = program;
  let count = 0;
  let cluster = defaultCluster;
  let option: Option | undefined;
  for (const word of words) {
    const [flag = '', inline] = word.startsWith('--') ? word.split(/=(.*)/s) : [word];
    const value = option === undefined ? inline : word;
    const of = option ?? optionOf(command, flag);
    if (of?.long === '--name' && value !== undefined) cluster = value;
    if (option !== undefined) option = undefined;
    else if (of !== undefined) option = inline === undefined && takesValue(of) ? of : undefined;
    else if (!word.startsWith('-')) {
      const sub = count === 0 ? subcommandOf(command, word) : undefined;
      if (sub === undefined) count++;
      else command = sub;
    }
  }
  return { command, arguments: count, option, cluster };
}

const named = (values: readonly string[]): Candidate[] => values.map((value) => ({ value }));
const fileWord = /<(file|dir|folder)>|^(file|archive)$/;

/** By what its help calls it. */
function valuesOf(
  { argChoices = [] }: Pick<Option | Argument, 'argChoices'>,
  called: string,
  place: Place,
  there: ThingsThere,
): Candidates {
  if (argChoices.length > 0) return named(argChoices);
  if (fileWord.test(called)) return 'files';
  if (called.startsWith('--name ')) return named(there.clusters());
  if (called === 'of') return named(there.logs(place.cluster));
  if (called === 'node' || called.startsWith('--node ')) return named(there.nodes(place.cluster));
  return [];
}

function optionsOf(command: Command): Candidate[] {
  return command
    .createHelp()
    .visibleOptions(command)
    .flatMap(({ long, short, description }) => {
      const value = long ?? short;
      return value === undefined ? [] : [{ value, description }];
    });
}

function wordsOf(place: Place, there: ThingsThere): Candidates {
  const { command } = place;
  const subcommands = place.arguments > 0 ? [] : command.createHelp().visibleCommands(command);
  if (subcommands.length > 0)
    return subcommands.map((one) => ({ value: one.name(), description: one.description() }));
  const argument = command.registeredArguments[place.arguments];
  // One that need not be is the name of something new.
  if (argument === undefined || (!argument.required && argument.name() === 'node')) return [];
  return valuesOf(argument, argument.name(), place, there);
}

/** `words`: what is typed after the program's name; the last is the one at the cursor, as far as it is typed. */
export function candidatesAt(program: Command, words: readonly string[], there: ThingsThere): Candidates {
  const word = words.at(-1) ?? '';
  const place = placeAfter(program, words.slice(0, -1));
  const [flag = '', inline] = word.startsWith('--') ? word.split(/=(.*)/s) : [word];
  const before = inline === undefined ? '' : `${flag}=`;
  const option = place.option ?? (inline === undefined ? undefined : optionOf(place.command, flag));
  const all =
    option !== undefined
      ? valuesOf(option, option.flags, place, there)
      : word.startsWith('-')
        ? optionsOf(place.command)
        : wordsOf(place, there);
  if (all === 'files') return all;
  return all
    .map((one) => ({ ...one, value: before + one.value }))
    .filter(({ value }) => value.startsWith(word));
}
