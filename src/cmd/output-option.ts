// `-o json|yaml`: what a command says, for programs.
import { Option } from 'commander';
import { toYaml } from '../base/yaml.ts';

export type Output = 'json' | 'yaml' | undefined;

export const outputOption = (): Option =>
  new Option('-o, --output <format>', 'for programs').choices(['json', 'yaml']);

/** `text` is for people. */
export function tell(output: Output, value: object, text: string): void {
  if (output === undefined) console.log(text);
  else process.stdout.write(output === 'json' ? `${JSON.stringify(value, null, 2)}\n` : toYaml(value));
}

/** As kubectl's clients know lists: fields may come under this version, and none goes or changes. */
export const tellList = (output: Output, kind: string, items: readonly object[], text: string): void =>
  tell(output, { apiVersion: 'cli.porthole.dev/v1', kind, items }, text);
