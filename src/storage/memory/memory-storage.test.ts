// The memory driver passes the contract of Storage.
import { systemClock } from '../../component-base/system-clock.ts';
import { storageConformance } from '../testing/storage-conformance.ts';
import { MemoryStorage } from './memory-storage.ts';

storageConformance({ name: 'MemoryStorage', open: async () => new MemoryStorage(systemClock) });
