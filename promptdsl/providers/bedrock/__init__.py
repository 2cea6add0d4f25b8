"""AWS Bedrock Converse: write and read requests by the rules of botocore's service model.

Attachments are sent as raw bytes, which boto3 encodes. The law: ``write(read(write(m))) ==
write(m)``. Read ``write.py`` first, then ``read.py``; ``parts.py`` has what a request has besides
its texts.
"""
