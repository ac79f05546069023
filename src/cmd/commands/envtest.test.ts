// What `porthole envtest --help` teaches.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { envtestCommand } from './envtest.ts';

test('its help names no commands, for there are none for people, and shows how tests find the folder', () => {
  const help: string[] = [];
  const command = envtestCommand().configureOutput({ writeOut: (text) => help.push(text) });
  command.outputHelp();
  assert.match(help.join(''), /^Usage: envtest --dir <folder>\n/);
  assert.match(help.join(''), /KUBEBUILDER_ASSETS=\$\(porthole envtest --dir assets\) go test/);
});
