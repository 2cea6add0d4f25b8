"""AWS Bedrock Converse: write and read it by the rules of botocore's service model.

Attachments are sent as raw bytes, which boto3 encodes. The law: ``write(read(write(m))) ==
write(m)``.
"""
