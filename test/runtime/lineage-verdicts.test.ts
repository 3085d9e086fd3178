import { describeVerdicts } from './lineage-verdict-suite';

describeVerdicts({});
