import { describeVerdicts } from './lineage-verdict-suite';

// Each message is delivered inside its sender's send(), as old Node-RED did and a setting still allows.
describeVerdicts({ runtimeSyncDelivery: true });
