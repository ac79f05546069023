// porthole image: images of a cluster's nodes.
import { Command } from 'commander';
import { buildSamples, listImages, loadArchive } from '../cluster/node-images.ts';
import { type Output, outputOption, tellList } from '../output-option.ts';
import { printTable, tableText } from '../print-table.ts';
import { progressOnStderr } from '../progress.ts';
import { portholeCache, portholeHome } from '../setup/locations.ts';

function loadCommand(): Command {
  return new Command('load')
    .description(
      'load an image archive (of docker save, podman, skopeo or buildx) into the nodes that can run it',
    )
    .argument('<archive>', "a tar file, also one packed by gzip or zstd, or a folder in OCI's layout")
    .option('--name <name>', 'name of the cluster', 'default')
    .option('--node <name>', 'only into this node, even when its Windows build does not fit')
    .option('--tag <image>', "the image's name, such as example.com/app:1; default: what the archive says")
    .action(async (archive: string, flags: { name: string; node?: string; tag?: string }) => {
      const loaded = await loadArchive({ ...flags, home: portholeHome(), archive }, progressOnStderr());
      printTable(
        ['NODE', 'IMAGE'],
        loaded.map((one) => [one.node, one.image]),
      );
    });
}

function lsCommand(): Command {
  return new Command('ls')
    .description('list the images of the nodes')
    .option('--name <name>', 'name of the cluster', 'default')
    .addOption(outputOption())
    .action(async ({ name, output }: { name: string; output?: Output }) => {
      const images = await listImages({ name, home: portholeHome() });
      const rows = images.map((one) => [one.node, one.image]);
      tellList(output, 'NodeImageList', images, tableText(['NODE', 'IMAGE'], rows));
    });
}

function buildSamplesCommand(): Command {
  return new Command('build-samples')
    .description(
      'build the sample images on the spot and load them: busybox for Linux, a node.exe web server for Windows',
    )
    .option('--name <name>', 'name of the cluster', 'default')
    .action(async (flags: { name: string }) => {
      const loaded = await buildSamples(
        { name: flags.name, home: portholeHome(), cache: portholeCache() },
        progressOnStderr(),
      );
      printTable(
        ['NODE', 'IMAGE'],
        loaded.map((one) => [one.node, one.image]),
      );
    });
}

export function imageCommand(): Command {
  return new Command('image')
    .description("images of a cluster's nodes")
    .addCommand(loadCommand())
    .addCommand(lsCommand())
    .addCommand(buildSamplesCommand());
}
