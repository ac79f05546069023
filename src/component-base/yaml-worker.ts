// The thread that reads long YAML: one text in, its JSON with the keys that came twice or what is wrong with it out.
import { parentPort } from 'node:worker_threads';
import { readYamlBody } from '../base/yaml.ts';
import type { YamlAnswer } from './yaml-thread.ts';

const port = parentPort;
if (port === null) throw new Error('this is a script of a worker thread');
port.on('message', (text: string) => {
  let answer: YamlAnswer;
  try {
    answer = readYamlBody(text);
  } catch (error) {
    answer = { error: error instanceof Error ? error.message : String(error) };
  }
  port.postMessage(answer);
});
