// Makes a checkout ready to run: installs what is missing, then bundles. Plain JavaScript for Node >= 20.
import { ensureInstalled } from './ensure-installed.mjs';

ensureInstalled();
const { bundlePrograms } = await import('./bundle.mjs');
await bundlePrograms();
